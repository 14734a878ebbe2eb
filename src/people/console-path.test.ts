import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isConsolePath } from './console-path.ts';

const RIGHT = ['/console', '/console/', '/console#/keys?tab=1', '/console?x=//evil.example', '/console/a/../b'];
const WRONG = [
  '',
  'console',
  '//evil.example/console',
  'https://evil.example/console',
  '/consolex',
  '/console/../admin/v1/users',
  '/console/%2e%2e/admin',
  '/console\\@evil.example',
  '/console/\r\nset-cookie: a=b',
  '/console/ü',
  `/console#${'a'.repeat(500)}`,
];

it('only paths of the console are accepted as return paths', () => {
  assert.deepEqual(
    RIGHT.filter((path) => !isConsolePath(path)),
    [],
  );
  assert.deepEqual(WRONG.filter(isConsolePath), []);
});
