import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ErrorKind, type ErrorRow, errorCatalogue } from './catalogue.ts';
import { GatewayError, invalidRequest } from './gateway-error.ts';

const rows = Object.entries(errorCatalogue) as [ErrorKind, ErrorRow][];

describe('GatewayError', () => {
  for (const [kind, row] of rows) {
    it(`takes ${kind} from the catalogue`, () => {
      const error = new GatewayError(kind);
      assert.deepEqual(
        { kind: error.kind, status: error.status, code: error.code, retry: error.retry, message: error.message },
        { kind, status: row.status, code: row.code, retry: row.retry, message: row.message },
      );
      assert.equal(error.isMoney, row.isMoney === true);
      assert.equal(error.name, 'GatewayError');
      assert.ok(error instanceof Error);
    });
  }

  it('has no field, headers and request id by default', () => {
    const error = new GatewayError('invalidRequest');
    assert.equal(error.param, null);
    assert.equal(error.type, undefined);
    assert.equal(error.requestId, null);
    assert.deepEqual(error.headers, {});
    assert.equal('cause' in error, false);
  });

  it('replaces every value of its row', () => {
    const replaced = {
      message: 'No money.',
      param: 'model',
      status: 402,
      code: 'other_code',
      type: 'other_type',
      retry: 'yes',
      headers: { 'retry-after': '5' },
      requestId: 'req_1',
      cause: new Error('the real reason'),
    } as const;
    const error = new GatewayError('insufficientBalance', replaced);
    for (const [name, value] of Object.entries(replaced))
      assert.deepEqual(error[name as keyof typeof replaced], value, name);
    assert.equal(error.isMoney, true);
  });

  it('shortens a long field in the message and in param', () => {
    const param = '$&'.repeat(100_000);
    const error = invalidRequest(`${param}: Unknown field.`, param);
    assert.equal(error.param, `${param.slice(0, 199)}…`);
    assert.equal(error.message, `${param.slice(0, 199)}…: Unknown field.`);
  });
});

describe('invalidRequest', () => {
  it('is a 400 with the invalid field, if there is one', () => {
    const blamed = invalidRequest('Wrong.', 'stream_options.include_usage');
    assert.deepEqual(
      [blamed.kind, blamed.status, blamed.message, blamed.param],
      ['invalidRequest', 400, 'Wrong.', 'stream_options.include_usage'],
    );
    assert.equal(invalidRequest('Wrong.').param, null);
  });
});
