// Places an order: DATABASE_URL=postgresql://… node insert.js CUSTOMER TOTAL
import { Client } from "pg";

/** Inserts an order and its event in one transaction, and returns the number of the order. */
async function placeOrder(database: Client, customer: string, total: number): Promise<number> {
  await database.query("BEGIN");
  try {
    const inserted = await database.query<{ id: string }>(
      "INSERT INTO orders (customer, total) VALUES ($1, $2) RETURNING id", [customer, total]);
    const order = Number(inserted.rows[0].id);
    await database.query(
      `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
       VALUES ('order', $1, 'OrderPlaced', $2)`, [customer, JSON.stringify({ order, customer, total })]);
    await database.query("COMMIT");
    return order;
  } catch (error) {
    await database.query("ROLLBACK");
    throw error;
  }
}

async function main(): Promise<void> {
  const database = new Client({ connectionString: process.env.DATABASE_URL });
  await database.connect();
  try {
    console.log(await placeOrder(database, process.argv[2], Number(process.argv[3])));
  } finally {
    await database.end();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
