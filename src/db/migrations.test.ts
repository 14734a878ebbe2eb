import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linesByHome } from './migrations.ts';

describe('a migration', () => {
  it('declares the home of its lines', () => {
    const sql = [
      '-- exclusive: first.',
      '-- home: directory',
      'alter table accounts add column a text;',
      '-- home: partition',
      'alter table calls add column b text;',
      "comment on table calls is '-- home: directory';",
      '-- home: directory',
      'alter table users add column c text;',
    ].join('\n');
    assert.deepEqual(linesByHome(sql), {
      before: '-- exclusive: first.',
      directory: 'alter table accounts add column a text;\nalter table users add column c text;',
      partition: "alter table calls add column b text;\ncomment on table calls is '-- home: directory';",
    });
  });
});
