import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { type CredentialForms, readCredential } from './credentials.ts';

/** Header lines as they are received. */
type Lines = readonly (readonly [name: string, value: string])[];

const isKey = (text: string): boolean => text.startsWith('ours-');

function read(lines: Lines, forms: CredentialForms = 'bearer-or-x-api-key'): string {
  const request = new IncomingMessage(new Socket());
  request.rawHeaders = lines.flat();
  return readCredential(request, forms, isKey);
}

function assertRefused(lines: Lines, message: RegExp, forms?: CredentialForms): void {
  assert.throws(() => read(lines, forms), { kind: 'invalidApiKey', status: 401, message });
}

const bearer = ['Authorization', 'Bearer key-1'] as const;
const apiKey = ['x-api-key', 'key-1'] as const;

describe('credential', () => {
  it('is read from either header if the address accepts both', () => {
    assert.equal(read([bearer]), 'key-1');
    assert.equal(read([apiKey]), 'key-1');
  });

  it('is found among other headers, whatever the case of their names', () => {
    assert.equal(
      read([
        ['Host', 'x'],
        ['AUTHORIZATION', 'Bearer key-1'],
        ['Accept', '*/*'],
      ]),
      'key-1',
    );
    assert.equal(
      read([
        ['X-Api-Key', 'key-1'],
        ['x-api-kex', 'other'],
        ['authorizatiom', 'other'],
      ]),
      'key-1',
    );
  });

  for (const value of ['bearer key-1', 'BEARER key-1', 'Bearer   key-1', 'Bearer\tkey-1', 'Bearer key-1 \t']) {
    it(`is read from ${JSON.stringify(value)}`, () => {
      assert.equal(read([['authorization', value]]), 'key-1');
    });
  }

  for (const value of [
    '',
    'Bearer',
    'Bearer ',
    'key-1',
    'Basic a2V5LTE=',
    'Bearer key 1',
    'Bearerkey-1',
    'Bearer: key-1 x',
  ]) {
    it(`is refused as ${JSON.stringify(value)}`, () => {
      assertRefused([['authorization', value]], /must read "Bearer <API key>"/);
    });
  }

  it('is refused if the Authorization header is malformed, even with a valid x-api-key', () => {
    assertRefused([apiKey, ['authorization', 'Basic a2V5']], /must read "Bearer <API key>"/);
  });

  it('is trimmed in x-api-key', () => {
    assert.equal(read([['x-api-key', ' key-1\t']]), 'key-1');
  });

  it('may occur several times if all occurrences are equal', () => {
    assert.equal(read([bearer, apiKey, bearer, apiKey]), 'key-1');
    assert.equal(read([bearer, apiKey], 'bearer'), 'key-1');
  });

  it('is refused if two keys differ, in the same header or in both', () => {
    const two = /two different API keys/;
    assertRefused([bearer, ['x-api-key', 'key-2']], two);
    assertRefused([['x-api-key', 'key-2'], bearer], two);
    assertRefused([bearer, ['authorization', 'Bearer key-2']], two);
    assertRefused([apiKey, ['X-API-Key', 'key-2']], two);
    assertRefused([bearer, ['x-api-key', 'key-2']], two, 'bearer');
  });

  it('is the one that has the form of our keys, whatever the other header contains', () => {
    const ours = ['authorization', 'Bearer ours-1'] as const;
    const oursApart = ['x-api-key', 'ours-1'] as const;
    for (const foreign of ['key-1', '', 'key-1, key-2']) {
      assert.equal(read([ours, ['x-api-key', foreign]]), 'ours-1');
      assert.equal(read([['x-api-key', foreign], ours], 'bearer'), 'ours-1');
    }
    for (const foreign of ['Bearer key-1', 'Basic a2V5', 'Bearer', '']) {
      assert.equal(read([['authorization', foreign], oursApart]), 'ours-1');
    }
    assert.equal(read([ours, apiKey, ['x-api-key', 'key-2']]), 'ours-1');
  });

  it('is refused if two of our keys differ, or if the header of our key has a second value', () => {
    const two = /two different API keys/;
    assertRefused(
      [
        ['authorization', 'Bearer ours-1'],
        ['x-api-key', 'ours-2'],
      ],
      two,
    );
    assertRefused(
      [
        ['authorization', 'Bearer ours-1'],
        ['x-api-key', 'ours-1'],
        ['x-api-key', 'ours-2'],
      ],
      two,
    );
    assertRefused([['authorization', 'Bearer ours-1'], bearer, apiKey], two);
    assertRefused(
      [
        ['authorization', 'Bearer ours-1'],
        ['authorization', 'Bearer ours-2'],
      ],
      two,
    );
  });

  it('is not read from x-api-key if the address accepts only Bearer, even if the Bearer token is foreign', () => {
    assertRefused(
      [bearer, ['x-api-key', 'ours-1']],
      /This address accepts the API key only as "Authorization: Bearer/,
      'bearer',
    );
  });

  it('is refused in x-api-key if the address accepts only Bearer', () => {
    assertRefused([apiKey], /This address accepts the API key only as "Authorization: Bearer/, 'bearer');
  });

  it('is refused if it is empty', () => {
    assertRefused([['x-api-key', '']], /The x-api-key header is empty/);
    assertRefused([['x-api-key', '  ']], /The x-api-key header is empty/);
  });

  it('is reported as missing, with the headers that the address accepts', () => {
    assertRefused([['host', 'x']], /Send it as "x-api-key: <API key>" or "Authorization: Bearer <API key>"/);
    assertRefused([], /^The API key is missing\. Send it as "Authorization: Bearer <API key>"\.$/, 'bearer');
  });

  it('is never repeated in a refusal', () => {
    for (const lines of [[['authorization', 'Basic secret-text']], [bearer, ['x-api-key', 'secret-text']]] as Lines[]) {
      assert.throws(
        () => read(lines),
        (error) => error instanceof Error && !/secret-text|key-1/.test(error.message),
      );
    }
  });
});
