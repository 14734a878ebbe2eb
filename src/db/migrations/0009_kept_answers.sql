-- Answers of calls that were made with an Idempotency-Key: a repeat of such a call gets the answer of the first.
-- A row is claimed before the call and filled before the call is settled; it counts as answered once the call's record
-- says that it has ended. Keys are hashes. Rows are dropped when they expire.
create table kept_answers (
  account_id text not null,
  key_id text not null,
  idempotency_key text not null,
  -- of the request: another one must not get this answer
  fingerprint text not null,
  -- of the call that runs, or ran; whoever finds a claim left by a dead node replaces it
  claim_id text not null,
  -- until when the node that runs the call is taken to be alive
  claimed_until timestamptz not null,
  expires_at timestamptz not null,
  -- null until the answer is known
  call_id text,
  call_started_at timestamptz,
  -- status and headers, or the error; null until the answer is known
  head jsonb,
  -- null for an error, and for an answer that is too large to be kept
  body bytea,
  primary key (account_id, key_id, idempotency_key)
);

create index kept_answers_by_expiry on kept_answers (expires_at);
create unique index kept_answers_by_claim on kept_answers (account_id, claim_id);
