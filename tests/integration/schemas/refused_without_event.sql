-- A queue of references.
CREATE TABLE pending (id bigserial PRIMARY KEY, order_id bigint NOT NULL, created_at timestamptz NOT NULL);
