-- Webhook endpoints that post messages to a messenger (docs/notices.md).

-- home: directory

-- the messenger; null: signed JSON
alter table webhook_endpoints add column form text;
-- language of the messages; null: the configured one
alter table webhook_endpoints add column language text;
-- until when nothing is sent, because of the messenger's rate limit; null: none was sent yet
alter table webhook_endpoints add column rests_until timestamptz;
