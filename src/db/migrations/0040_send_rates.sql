-- What was sent lately to an address, for an account, to the endpoints of an account: until when the debt of each is repaid. One row
-- a subject, which is deleted when it owes nothing any more.
create table send_rates (
  subject text primary key,
  repaid_at timestamptz not null
);
create index send_rates_by_repaid_at on send_rates (repaid_at);
