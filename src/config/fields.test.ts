import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import {
  addressRange,
  amountNano,
  baseUrl,
  databaseUrl,
  dayRange,
  durationMs,
  durationOrZeroMs,
  listOf,
  name,
  named,
  nameOrNone,
  oneOf,
  port,
  protocolNames,
  secret,
  section,
  sizeBytes,
  text,
  timezone,
  trueOrFalse,
  wholeNumber,
  wireName,
} from './fields.ts';

/** The value of a field, or its error message. */
function read(field: z.ZodType, value: unknown): unknown {
  const result = field.safeParse(value);
  return result.success ? result.data : result.error.issues.map((issue) => issue.message).join(' & ');
}

function assertRefuses(field: z.ZodType, expected: string, values: readonly unknown[]): void {
  for (const value of values) assert.equal(read(field, value), expected, JSON.stringify(value));
}

describe('amounts in yuan', () => {
  it('are exact nano-yuan', () => {
    assert.equal(read(amountNano, '4'), 4_000_000_000n);
    assert.equal(read(amountNano, '0.30'), 300_000_000n);
    assert.equal(read(amountNano, '0.000000001'), 1n);
    assert.equal(read(amountNano, '0'), 0n);
  });

  it('below zero, with too many decimals, or in another form are refused', () => {
    assertRefuses(amountNano, 'an amount in yuan such as "4" or "0.30", zero or more, with at most 9 decimals', [
      '-1',
      '0.0000000001',
      '¥4',
      '1,000',
      '1e3',
      '',
      ' 4',
      4,
      true,
      null,
      ['4'],
    ]);
  });
});

describe('durations', () => {
  it('are milliseconds', () => {
    assert.equal(read(durationMs, '10s'), 10_000);
    assert.equal(read(durationOrZeroMs, '0s'), 0);
  });

  it('of zero are refused, because they are ambiguous', () => {
    assertRefuses(durationMs, 'a duration such as 500ms, 10s, 5m or 2h, above zero and at most 24d', [
      '0s',
      '10',
      'soon',
      undefined,
    ]);
  });

  it('above the maximum of timers are refused', () => {
    assert.equal(read(durationMs, '24d'), 2_073_600_000);
    assert.match(String(read(durationMs, '25d')), /at most 24d/);
    assert.match(String(read(durationOrZeroMs, '25d')), /at most 24d/);
  });
});

describe('other fields', () => {
  it('sizes are bytes, above zero', () => {
    assert.equal(read(sizeBytes, '4MiB'), 4_194_304);
    assertRefuses(sizeBytes, 'a size such as 64MiB, 500KB or 1024, above zero', ['0', '4 megabytes', '-1', 4]);
  });

  it('ranges of hours are minutes of the day', () => {
    assert.deepEqual(read(dayRange, '09:00-21:00'), { fromMinute: 540, toMinute: 1260 });
    assertRefuses(dayRange, 'a range of hours such as 09:00-21:00', ['9 to 5', '09:00-09:00']);
  });

  it('address ranges are addresses, with or without a prefix length', () => {
    assert.deepEqual(read(addressRange, '10.0.0.0/8'), { address: '10.0.0.0', family: 'ipv4', prefixBits: 8 });
    assert.deepEqual(read(addressRange, '::1'), { address: '::1', family: 'ipv6', prefixBits: 128 });
    const expected = 'an IP address, or a range such as 10.0.0.0/8';
    assertRefuses(addressRange, expected, ['10.0.0.0/40', 'proxy.example', '10.0.0.0/x', '']);
  });

  it('ports go from 0 to 65535', () => {
    assert.equal(read(port, '0'), 0);
    assert.equal(read(port, '65535'), 65_535);
    assertRefuses(port, 'a port from 0 to 65535', ['65536', '-1', '80.5', '0x50', 'http', '']);
  });

  it('whole numbers are in their range', () => {
    assert.equal(read(wholeNumber(0, 10), '10'), 10);
    assertRefuses(wholeNumber(0, 10), 'a whole number from 0 to 10', ['11', '-1', '1.0', '1e1', 'ten']);
    assertRefuses(wholeNumber(1), 'a whole number of at least 1', ['0', '9007199254740992']);
  });

  it('booleans may be text, as in variables', () => {
    assert.equal(read(trueOrFalse, true), true);
    assert.equal(read(trueOrFalse, 'false'), false);
    assertRefuses(trueOrFalse, 'true or false', ['yes', '1', 'True', 1, null]);
  });

  it('text is not empty', () => {
    assert.equal(read(text, 'x'), 'x');
    assertRefuses(text, 'non-empty text', ['']);
    assertRefuses(text, 'text', [true, [], {}, undefined]);
  });

  it('a credential is a valid header value', () => {
    assert.equal(read(secret, 'sk-1_2+3/4='), 'sk-1_2+3/4=');
    assertRefuses(secret, 'a credential of ASCII characters without spaces or line breaks', [
      '',
      'key\n',
      'a b',
      'schlüssel',
    ]);
  });

  it('oneOf lists the words in its error', () => {
    assert.equal(read(oneOf(['chat', 'messages']), 'chat'), 'chat');
    assertRefuses(oneOf(['chat', 'messages']), 'chat or messages', ['chatty', 1, undefined]);
    assertRefuses(oneOf(['a', 'b', 'c']), 'one of a, b, c', ['d']);
  });

  it('a misspelt time zone is refused with a suggestion', () => {
    assert.equal(read(timezone, 'Asia/Shanghai'), 'Asia/Shanghai');
    assert.equal(read(timezone, 'UTC'), 'UTC');
    assertRefuses(timezone, 'a time zone such as Europe/Berlin', ['Europe/Berlim', 'europe_berlin']);
    assertRefuses(timezone, 'a time zone such as Asia/Shanghai', ['Beijing time', '', 8, undefined]);
  });
});

describe('addresses', () => {
  it('of providers have no trailing slash', () => {
    assert.equal(read(baseUrl, 'https://api.acme.example/v1/'), 'https://api.acme.example/v1');
    assert.equal(read(baseUrl, 'HTTP://API.example:8080'), 'http://api.example:8080');
  });

  it('of providers have no credentials, query or fragment', () => {
    assertRefuses(baseUrl, 'an http:// or https:// address without credentials, query or fragment', [
      'api.acme.example',
      'localhost:8080',
      'ftp://acme.example',
      'https://',
      'https://user@acme.example',
      'https://acme.example/?key=1',
      'https://acme.example/#top',
      '',
      8080,
    ]);
  });

  it('of a database are postgres URLs, or empty', () => {
    assert.equal(read(databaseUrl, ''), '');
    assert.equal(read(databaseUrl, 'postgres://u:p@h/d'), 'postgres://u:p@h/d');
    assert.equal(read(databaseUrl, 'postgresql:///d?host=/run'), 'postgresql:///d?host=/run');
    for (const address of [
      'postgres://h:1/d',
      'postgres://h:65535/d?sslmode=require',
      'postgres://u:p%40%3A@[::1]:5432/d',
      'postgres://%2Frun%2Fpg/d',
      'postgres:///d?host=/run&port=5433',
      'postgres://u@/d?host=/run',
    ]) {
      assert.equal(read(databaseUrl, address), address);
    }
    const expected =
      'a postgres:// address such as postgres://user:password@host:5432/name, with a port from 1 to 65535 and special characters as in %20, or nothing for a local one';
    assertRefuses(databaseUrl, expected, [
      'mysql://h/d',
      'localhost',
      'postgres://',
      'postgres://u:p@h:99999/d',
      'postgres://u:p@h:0/d',
      'postgres://u:p@h:abc/d',
      'postgres://h/d?port=99999',
      'postgres://h/d?port=x',
      'postgres://u:pa#ss@h/d',
      'postgres://u:pa/ss@h/d',
      'postgres://u:%80@h/d',
      'postgres://u:p q@h/d',
      ' postgres://h/d',
      'postgres://h/d\n',
      'postgres://h/d\u001b[2J',
    ]);
  });

  it('names have no control characters or bidirectional marks', () => {
    assert.equal(read(name, 'Zoë 王 😀'), 'Zoë 王 😀');
    assert.equal(read(nameOrNone, ''), '');
    assertRefuses(name, 'non-empty text', ['']);
    assertRefuses(name, 'text without control characters or bidirectional marks', [
      'a\u001b[2Jb',
      'a\nb',
      'a\u0085b',
      'a\u202eb',
      'a\u2067b',
    ]);
  });
});

describe('names on the wire', () => {
  it('have characters for paths and header names', () => {
    assert.equal(read(wireName, 'alt-proto2'), 'alt-proto2');
    assertRefuses(wireName, 'a name of at most 32 lower-case letters, digits and hyphens that begins with a letter', [
      '',
      'Alt',
      '2alt',
      'alt/proto',
      'alt_proto',
      'a'.repeat(33),
    ]);
  });

  it('may be several for a protocol', () => {
    assert.deepEqual(read(protocolNames, 'alt'), ['alt']);
    assert.deepEqual(read(protocolNames, ['alt', 'other']), ['alt', 'other']);
    assertRefuses(protocolNames, 'at least one name', [[]]);
    assertRefuses(protocolNames, 'a name or a list of names', [true, {}]);
  });
});

describe('sections and lists', () => {
  it('a section lists keys in its error', () => {
    assert.equal(read(section({ a: text, b: text, c: text, d: text }), 'x'), 'a section with keys such as a, b, c');
    assert.equal(read(section({ a: text }), ['x']), 'a section with the key a');
  });

  it('named sections and lists describe their content in the error', () => {
    assert.equal(read(named('model names', text), 'x'), 'a section whose keys are model names');
    assert.equal(read(listOf('at least one route', text, 1), []), 'a list of at least one route');
    assert.equal(read(listOf('names', text), 'x'), 'a list of names');
    assert.deepEqual(read(listOf('names', text), []), []);
  });
});
