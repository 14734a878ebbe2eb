import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import { parseAddressRange } from '../lib/ip-address.ts';
import { ClientAddresses } from './client-address.ts';

const addresses = new ClientAddresses(['10.0.0.0/8', '2001:db8:aaaa::/48'].map((text) => parseAddressRange(text)!));

/** The members of a request that `ClientAddresses` reads. */
function from(remoteAddress: string | undefined, forwardedFor?: string): IncomingMessage {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return { socket: { remoteAddress }, headers } as unknown as IncomingMessage;
}

describe('the address of a client', () => {
  const rows: Record<string, [request: IncomingMessage, client: string]> = {
    'is that of the connection': [from('203.0.113.7'), '203.0.113.7'],
    'is that of the connection, whatever header a client sends': [from('203.0.113.7', '198.51.100.1'), '203.0.113.7'],
    'is that of the connection, written as IPv6': [from('::ffff:203.0.113.7'), '203.0.113.7'],
    'is a network of 64 bits in IPv6': [from('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64'],
    'is in the header behind a trusted proxy': [from('10.0.0.1', '198.51.100.1'), '198.51.100.1'],
    'is in the header behind a trusted proxy in IPv6': [from('2001:db8:aaaa::1', '2001:db8:1::9'), '2001:db8:1:0::/64'],
    'is the last one in the header, because clients can forge the others': [
      from('10.0.0.1', '1.2.3.4, 198.51.100.1'),
      '198.51.100.1',
    ],
    'is the last one that is not a trusted proxy': [
      from('10.0.0.1', '1.2.3.4,198.51.100.1, 10.9.9.9,10.8.8.8'),
      '198.51.100.1',
    ],
    'is the first one if all are trusted proxies': [from('10.0.0.1', '10.0.0.3, 10.0.0.2'), '10.0.0.3'],
    'is that of the proxy if there is no header': [from('10.0.0.1'), '10.0.0.1'],
    'is the entry after the last invalid one': [from('10.0.0.1', '198.51.100.1, unknown, 10.0.0.2'), '10.0.0.2'],
    'may have a port': [from('10.0.0.1', '198.51.100.1:4711'), '198.51.100.1'],
    'may have brackets and a port': [from('10.0.0.1', '[2001:db8:1::9]:4711'), '2001:db8:1:0::/64'],
  };
  for (const [what, [request, client]] of Object.entries(rows)) {
    it(what, () => assert.equal(addresses.ofRequest(request), client));
  }

  it('of a connection is null for a trusted proxy, which has many clients', () => {
    assert.deepEqual(
      ['203.0.113.7', '::ffff:203.0.113.7', '10.0.0.1', '2001:db8:aaaa::1'].map((peer) => addresses.ofPeer(peer)),
      ['203.0.113.7', '203.0.113.7', null, null],
    );
  });

  it('of a closed connection is empty', () => {
    assert.equal(addresses.ofPeer(undefined), '');
  });
});
