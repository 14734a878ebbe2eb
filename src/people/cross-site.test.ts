import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCrossSite, type RequestOrigin } from './cross-site.ts';

const HOST = 'gateway.example';

describe('a request that a page of another site may have caused', () => {
  const cases: [string, Partial<RequestOrigin>, boolean, string?][] = [
    ['of a program, which sends neither header', {}, false],
    ['of the console', { secFetchSite: 'same-origin', origin: 'https://gateway.example' }, false],
    ['from the address bar', { secFetchSite: 'none' }, false],
    ['of another site', { secFetchSite: 'cross-site', origin: 'https://evil.example' }, true],
    ['of a neighbouring host', { secFetchSite: 'same-site', origin: 'https://blog.gateway.example' }, true],
    ['whose Sec-Fetch-Site counts, whatever its Origin is', { secFetchSite: 'cross-site', origin: undefined }, true],
    ['with an unknown Sec-Fetch-Site', { secFetchSite: 'elsewhere' }, true],
    ['of an old browser in the console', { origin: 'https://gateway.example' }, false],
    ['of an old browser in the console, over http', { origin: 'http://gateway.example' }, false],
    ['of an old browser on another site', { origin: 'https://evil.example' }, true],
    ['of an old browser at another port', { origin: 'https://gateway.example:8443' }, true],
    ['of a page without an origin', { origin: 'null' }, true],
    ['with an invalid Origin', { origin: 'gateway.example' }, true],
    ['that only reads', { method: 'GET', secFetchSite: 'cross-site', origin: 'https://evil.example' }, false],
    ['that only reads headers', { method: 'HEAD', secFetchSite: 'cross-site' }, false],
    ['that deletes', { method: 'DELETE', origin: 'https://evil.example' }, true],
    [
      'at the public address, with the host of a proxy',
      { origin: 'https://public.example' },
      false,
      'https://public.example',
    ],
    ['at the public address over http', { origin: 'http://public.example' }, true, 'https://public.example'],
    ['without a host', { origin: 'https://gateway.example', host: undefined }, true],
  ];
  for (const [name, given, expected, publicUrl = null] of cases) {
    it(name, () => {
      const request = { method: 'POST', secFetchSite: undefined, origin: undefined, host: HOST, ...given };
      assert.equal(isCrossSite(request, publicUrl), expected);
    });
  }
});
