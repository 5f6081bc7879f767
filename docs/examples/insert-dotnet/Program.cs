// Places an order: CONNECTION_STRING="Host=…;Username=…;Database=…" dotnet run -- CUSTOMER TOTAL
using System.Text.Json;
using Npgsql;
using NpgsqlTypes;

await using var database = NpgsqlDataSource.Create(Environment.GetEnvironmentVariable("CONNECTION_STRING")!);
Console.WriteLine(await PlaceOrder(database, args[0], int.Parse(args[1])));

// Inserts an order and its event in one transaction, and returns the number of the order.
static async Task<long> PlaceOrder(NpgsqlDataSource database, string customer, int total)
{
    await using var connection = await database.OpenConnectionAsync();
    // A transaction that is disposed without a commit is rolled back.
    await using var transaction = await connection.BeginTransactionAsync();

    await using var insertOrder = new NpgsqlCommand(
        "INSERT INTO orders (customer, total) VALUES (@customer, @total) RETURNING id", connection, transaction);
    insertOrder.Parameters.AddWithValue("customer", customer);
    insertOrder.Parameters.AddWithValue("total", total);
    var order = (long)(await insertOrder.ExecuteScalarAsync())!;

    await using var insertEvent = new NpgsqlCommand(
        "INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload) " +
        "VALUES ('order', @customer, 'OrderPlaced', @payload)", connection, transaction);
    insertEvent.Parameters.AddWithValue("customer", customer);
    insertEvent.Parameters.AddWithValue("payload", NpgsqlDbType.Jsonb,
        JsonSerializer.Serialize(new { order, customer, total }));
    await insertEvent.ExecuteNonQueryAsync();

    await transaction.CommitAsync();
    return order;
}
