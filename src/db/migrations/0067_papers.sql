-- References of top-ups, particulars of buyers, and requests for invoices (docs/operations/invoices.md).

-- home: partition

-- what identifies the payment of a top-up, such as the number of a bank transfer; null: none
alter table ledger_entries add column reference text;

-- home: directory

-- who receives statements, receipts and invoices: companyName, taxNumber, address, email; null: not entered
alter table accounts add column buyer jsonb;

create table invoice_requests (
  id text primary key,
  account_id text not null references accounts (id),
  -- what the invoice is for: a month such as 2026-10, or the ids of ledger entries of top-ups
  month text,
  entry_ids text[],
  amount_nano bigint not null check (amount_nano > 0),
  -- the particulars of the buyer when the invoice was requested
  buyer jsonb not null,
  state text not null check (state in ('open', 'issued', 'refused')),
  requested_at timestamptz not null,
  requested_by text not null,
  closed_at timestamptz,
  closed_by text,
  -- null: no invoice was issued
  invoice_number text,
  -- a remark on the invoice, or why the request was refused
  note text,
  check ((month is null) <> (entry_ids is null)),
  check ((state = 'open') = (closed_at is null)),
  check ((state = 'issued') = (invoice_number is not null))
);
create index invoice_requests_by_account on invoice_requests (account_id, id);
create index invoice_requests_by_state on invoice_requests (state, id);
