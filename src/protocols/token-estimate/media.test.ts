import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { dataUrlText, decodedSizeBytes, isPlainText, readDataUrl } from './media.ts';

describe('readDataUrl', () => {
  it('reads the lowercase media type and whether it is base64, with parameters in any order', () => {
    assert.deepEqual(readDataUrl('data:image/png;base64,AAAA'), {
      mediaType: 'image/png',
      isBase64: true,
      data: 'AAAA',
    });
    assert.deepEqual(readDataUrl('DATA:Text/Plain; charset=utf-8;BASE64,QQ=='), {
      mediaType: 'text/plain',
      isBase64: true,
      data: 'QQ==',
    });
    assert.deepEqual(readDataUrl('data:text/html,a,b'), { mediaType: 'text/html', isBase64: false, data: 'a,b' });
  });

  it('uses text/plain if the media type is missing', () => {
    assert.equal(readDataUrl('data:;base64,QQ==')?.mediaType, 'text/plain');
    assert.equal(readDataUrl('data:,hello')?.mediaType, 'text/plain');
  });

  it('returns null for any other text', () => {
    for (const text of ['', 'data', 'data:', 'data: there is none here', 'https://a.example/,', ' data:,x']) {
      assert.equal(readDataUrl(text), null, text);
    }
    assert.equal(readDataUrl(`data:${'x'.repeat(1_000)},y`), null);
  });
});

describe('the data of a data URL', () => {
  it('is decoded from base64 or percent escapes, or unchanged if an escape is invalid', () => {
    const textOf = (url: string) => dataUrlText(readDataUrl(url)!);
    assert.equal(textOf(`data:text/plain;base64,${Buffer.from('grüße 你好').toString('base64')}`), 'grüße 你好');
    assert.equal(textOf('data:text/plain,gr%C3%BC%C3%9Fe'), 'grüße');
    assert.equal(textOf('data:text/plain,100%'), '100%');
  });

  it('has a decoded size that is computed from its length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        assert.equal(decodedSizeBytes(Buffer.from(bytes).toString('base64')), bytes.length);
        assert.equal(decodedSizeBytes(Buffer.from(bytes).toString('base64url')), bytes.length);
      }),
    );
    for (const odd of ['', '=', '==', 'A', 'A=']) assert.ok(decodedSizeBytes(odd) >= 0);
  });
});

describe('isPlainText', () => {
  it('accepts text/plain with any parameters, and no other type', () => {
    for (const type of ['text/plain', 'Text/PLAIN', 'text/plain; charset=utf-8', ' text/plain ;x=y']) {
      assert.ok(isPlainText(type), type);
    }
    for (const type of ['text/html', 'text/plainer', 'application/pdf', '', null, 1, ['text/plain']]) {
      assert.ok(!isPlainText(type), String(type));
    }
  });
});
