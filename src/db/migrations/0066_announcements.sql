-- Announcements of operators, which the console shows as a banner (docs/operations/announcements.md).

-- home: directory

create table announcements (
  id text primary key,
  level text not null check (level in ('info', 'warning')),
  -- everyone: also before sign-in
  audience text not null check (audience in ('everyone', 'signed_in')),
  text_en text,
  text_zh text,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  created_at timestamptz not null,
  created_by text not null,
  check (text_en is not null or text_zh is not null),
  check (starts_at < ends_at)
);
