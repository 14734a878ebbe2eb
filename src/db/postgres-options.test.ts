import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { splitOptions, withOptions } from './postgres-options.ts';

describe('options of a connection', () => {
  it('are removed from the URL without changing the rest', () => {
    const cases: [url: string, connectionString: string, given: string[]][] = [
      ['postgres://u:p@h:5/d', 'postgres://u:p@h:5/d', []],
      ['postgres://h/d?sslmode=require', 'postgres://h/d?sslmode=require', []],
      ['postgres://h/d?options=-c%20work_mem%3D5MB', 'postgres://h/d', ['-c work_mem=5MB']],
      ['postgres:///d?host=/tmp&options=-c+a%3Db&port=7', 'postgres:///d?host=%2Ftmp&port=7', ['-c a=b']],
      ['postgres://h/d?options=', 'postgres://h/d', []],
      ['/tmp d', '/tmp d', []],
    ];
    for (const [url, connectionString, given] of cases) {
      assert.deepEqual(splitOptions(url), { connectionString, given }, url);
    }
  });

  it('are appended to existing ones', () => {
    assert.equal(withOptions({ options: '' }, ['-c', 'a=b']).options, '-c a=b');
    assert.equal(withOptions({ options: '-c a=c' }, ['-c', 'a=b']).options, '-c a=c -c a=b');
  });
});
