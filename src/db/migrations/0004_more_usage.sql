-- What images and rerank calls are charged by, beside the tokens of text.
alter table calls
  add column image_input_tokens bigint not null default 0,
  add column image_output_tokens bigint not null default 0,
  add column images bigint not null default 0,
  add column search_units bigint not null default 0;
