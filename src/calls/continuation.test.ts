import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../errors/gateway-error.ts';
import { signedKey } from '../protocols/signed-blocks.ts';
import { type StateKind, type StateReference, stateKey } from '../protocols/state-references.ts';
import type { Route } from '../providers/catalog/catalog.ts';
import type { Provider, Providers } from '../providers/upstream/provider.ts';
import { findContinuation, routesThatAllow } from './continuation.ts';

const routes = ['plain', 'searching'].map((providerId) => ({ id: providerId, providerId }) as Route);
const providers: Pick<Providers, 'get'> = {
  get: (id) => ({ allows: (part) => id === 'searching' && part === 'tools.x_search' }) as Provider,
};
const nothing = { continuationKeys: [], references: [], signedKeys: (): string[] => [] };
const part = (name: string) => ({ name, param: 'tools[0].type', problem: 'type' }) as const;

describe('routes of a request with unknown tools', () => {
  it('are all routes if it has none', () => {
    assert.deepEqual(routesThatAllow(routes, [], providers), routes);
  });

  it('are the routes of providers that allow all its tools', () => {
    const open = routesThatAllow(routes, [part('tools.x_search')], providers);
    assert.deepEqual(
      open.map(({ providerId }) => providerId),
      ['searching'],
    );
  });

  it('are none if no provider allows all its tools', () => {
    assert.throws(
      () => routesThatAllow(routes, [part('tools.x_search'), part('tools.other')], providers),
      (error) => error instanceof GatewayError && error.status === 400 && error.param === 'tools[0].type',
    );
  });
});

describe('the size of continued state', () => {
  const reference = (kind: StateKind, id: string): StateReference => ({ kind, id, param: id });
  const stored = new Map([
    [stateKey({ kind: 'container', id: 'c' }), { model: 'm', providerId: 'p', totalTokens: 1 }],
    [stateKey({ kind: 'response', id: 'small' }), { model: 'm', providerId: 'p', totalTokens: 20 }],
    [stateKey({ kind: 'response', id: 'large' }), { model: 'm', providerId: 'p', totalTokens: 300 }],
  ]);
  const sizeOf = async (...references: StateReference[]): Promise<number | undefined> => {
    const find = () => Promise.resolve(stored);
    const found = await findContinuation({ find }, 'account', { ...nothing, references }, false);
    return found.continuedTokens;
  };

  it('is the size of the largest response, not of a container that comes first', async () => {
    const named = [reference('container', 'c'), reference('response', 'small'), reference('response', 'large')];
    assert.equal(await sizeOf(...named), 300);
  });

  it('is unknown if the size of one response is unknown', async () => {
    assert.equal(await sizeOf(reference('response', 'small'), reference('response', 'unknown')), undefined);
  });
});

describe('the provider of the signed blocks of a call', () => {
  const madeBy = (providerId: string) => ({ model: 'm', providerId });
  const [newest, older, compaction] = [signedKey('newest'), signedKey('older'), 'e:compaction'];
  const continuationOf = async (known: Record<string, object>, hasChoice = true) => {
    const asked: string[] = [];
    const find = (_account: string, keys: readonly string[]) => {
      asked.push(...keys);
      return Promise.resolve(new Map(Object.entries(known) as [string, ReturnType<typeof madeBy>][]));
    };
    const input = { ...nothing, continuationKeys: [compaction], signedKeys: () => [newest, older] };
    return { ...(await findContinuation({ find }, 'account', input, hasChoice)), asked };
  };

  it('is the provider of the newest known block, which accepted the earlier ones', async () => {
    const { signed, continuedState } = await continuationOf({ [older]: madeBy('a'), [newest]: madeBy('b') });
    assert.deepEqual([signed, continuedState], [madeBy('b'), null]);
    assert.deepEqual((await continuationOf({ [older]: madeBy('a') })).signed, madeBy('a'));
    assert.equal((await continuationOf({})).signed, null);
  });

  it('is independent of the provider of continued state', async () => {
    const { signed, continuedState } = await continuationOf({ [newest]: madeBy('b'), [compaction]: madeBy('a') });
    assert.deepEqual([signed, continuedState], [madeBy('b'), madeBy('a')]);
  });

  it('is not looked up if there is no choice of providers', async () => {
    assert.deepEqual((await continuationOf({ [newest]: madeBy('b') }, false)).asked, []);
  });
});
