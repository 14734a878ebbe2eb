import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AddressRanges, canonicalAddress, clientNetwork, isPublicAddress, parseAddressRange } from './ip-address.ts';

describe('addresses', () => {
  const canonical: Record<string, string | null> = {
    '10.1.2.3': '10.1.2.3',
    '::1': '::1',
    '0:0:0:0:0:0:0:1': '::1',
    '2001:DB8:0:0:1:0:0:1': '2001:db8::1:0:0:1',
    'fe80::1%eth0': 'fe80::1',
    '::ffff:10.1.2.3': '10.1.2.3',
    '::FFFF:0a01:0203': '10.1.2.3',
    '10.1.2': null,
    '10.1.2.3:80': null,
    unknown: null,
    '': null,
  };
  for (const [text, address] of Object.entries(canonical)) {
    it(`have a canonical form: ${text || 'nothing'} is ${address ?? 'none'}`, () => {
      assert.equal(canonicalAddress(text), address);
    });
  }

  const networks: Record<string, string> = {
    '10.1.2.3': '10.1.2.3',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::6': '2001:db8:1:2::/64',
    '2001:db8::6': '2001:db8:0:0::/64',
    '2001:db8::': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    '::': '0:0:0:0::/64',
    '1::2:3:4:5:6:7': '1:0:2:3::/64',
  };
  for (const [address, network] of Object.entries(networks)) {
    it(`belong to a client: ${address} to ${network}`, () => {
      assert.equal(clientNetwork(canonicalAddress(address)!), network);
    });
  }
});

describe('ranges of addresses', () => {
  const ranges = new AddressRanges(
    ['10.0.0.0/8', '192.168.7.9', '2001:db8::/32', '::ffff:172.16.0.0/108'].map((text) => parseAddressRange(text)!),
  );
  const inside = ['10.255.0.1', '192.168.7.9', '2001:db8:ffff::1', '172.16.3.4', '::ffff:10.0.0.1'];
  const outside = ['11.0.0.1', '192.168.7.8', '2001:db9::1', '172.32.0.1', '::1'];
  for (const address of inside) {
    it(`contain ${address}`, () => assert.equal(ranges.has(canonicalAddress(address)!), true));
  }
  for (const address of outside) {
    it(`do not contain ${address}`, () => assert.equal(ranges.has(canonicalAddress(address)!), false));
  }

  it('contain nothing if there are none', () => {
    assert.equal(new AddressRanges([]).has('10.0.0.1'), false);
  });

  for (const text of [
    '',
    'localhost',
    '10.0.0.0/33',
    '10.0.0/8',
    '2001:db8::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '/8',
    '::ffff:10.0.0.0/8',
  ]) {
    it(`are not "${text}"`, () => assert.equal(parseAddressRange(text), null));
  }
});

describe('public addresses', () => {
  const inside = [
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.168.1.1',
    '198.18.0.1',
    '203.0.113.9',
    '224.0.0.1',
    '239.255.255.250',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:169.254.169.254',
    '::ffff:0:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::a00:1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ];
  for (const address of inside) {
    it(`are not: ${address || 'nothing'}`, () => assert.equal(isPublicAddress(address), false));
  }
  for (const address of [
    '1.1.1.1',
    '93.184.215.14',
    '172.32.0.1',
    '::ffff:8.8.8.8',
    '2606:4700::1111',
    '2a00:1450::1',
  ]) {
    it(`are: ${address}`, () => assert.equal(isPublicAddress(address), true));
  }
});
