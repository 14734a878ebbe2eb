-- Secrets of providers, sealed with a key that is not in the database (docs/operations/secrets.md).

-- home: directory

create table sealed_secrets (
  name text primary key,
  -- nonce, ciphertext and tag of AES-256-GCM; the name is additional authenticated data
  sealed bytea not null,
  -- derived from the key that sealed it
  key_id text not null,
  created_at timestamptz not null,
  -- when the value was set last; a rotation of the key does not change it
  changed_at timestamptz not null,
  changed_by text not null
);
