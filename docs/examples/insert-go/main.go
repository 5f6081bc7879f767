// Places an order: DATABASE_URL=postgresql://… go run . CUSTOMER TOTAL
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// orderPlaced is the payload of the event.
type orderPlaced struct {
	Order    int64  `json:"order"`
	Customer string `json:"customer"`
	Total    int    `json:"total"`
}

// placeOrder inserts an order and its event in one transaction, and returns the number of the order.
func placeOrder(ctx context.Context, database *pgx.Conn, customer string, total int) (int64, error) {
	var order int64
	// BeginFunc commits if the function returns nil, and rolls back otherwise.
	err := pgx.BeginFunc(ctx, database, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "INSERT INTO orders (customer, total) VALUES ($1, $2) RETURNING id",
			customer, total).Scan(&order)
		if err != nil {
			return err
		}
		payload, err := json.Marshal(orderPlaced{order, customer, total})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO outbox (aggregate_type, aggregate_id, event_type, payload)
			VALUES ('order', $1, 'OrderPlaced', $2)`, customer, payload)
		return err
	})
	return order, err
}

func main() {
	ctx := context.Background()
	database, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer database.Close(ctx)
	total, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	order, err := placeOrder(ctx, database, os.Args[1], total)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order)
}
