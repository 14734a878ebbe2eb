import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type NodeStatus, NodeWatch } from './node-watch.ts';

const route = (id: string, isUp: boolean, model = 'm') => ({
  id,
  model,
  provider: id,
  providerModel: 'p',
  isUp,
  reason: isUp ? null : 'timeout',
});
const credential = (isRefused: boolean) => ({
  provider: 'acme',
  name: 'apiKey',
  isRefused,
  status: isRefused ? 401 : null,
});
const catalog = { inForce: 1, failed: null };
const routes = (...all: NodeStatus['routes']): NodeStatus => ({ routes: all, credentials: [], catalog });
const at = (seconds: number) => ({ nowMs: seconds * 1_000, routeDownAfterMs: 60_000 });

describe('the watch of a node', () => {
  it('reports a route that stays down once, until it was up again', () => {
    const watch = new NodeWatch('node_1');
    const findDue = (isUp: boolean, seconds: number): number => {
      const due = watch.findDue(routes(route('a', isUp)), at(seconds));
      watch.markStored(due);
      return due.length;
    };
    assert.deepEqual(
      [
        findDue(true, 0),
        findDue(false, 10),
        findDue(false, 69),
        findDue(false, 70),
        findDue(false, 500),
        findDue(true, 510),
      ],
      [0, 0, 0, 1, 0, 0],
    );
    assert.deepEqual(
      [findDue(false, 520), findDue(true, 560), findDue(false, 570), findDue(false, 629), findDue(false, 630)],
      [0, 0, 0, 0, 1],
    );
  });

  it('repeats notices that could not be stored', () => {
    const watch = new NodeWatch('node_1');
    watch.findDue(routes(route('a', false)), at(0));
    const due = watch.findDue(routes(route('a', false)), at(60));
    assert.equal(due.length, 1);
    assert.deepEqual(watch.findDue(routes(route('a', false)), at(70)), due);
  });

  it('reports whether the model has another route', () => {
    const watch = new NodeWatch('node_1');
    const down = [route('a', false), route('b', true), route('c', false, 'other')];
    watch.findDue(routes(...down), at(0));
    const due = watch.findDue(routes(...down), at(60));
    assert.deepEqual(
      due.map(({ subject, data }) => [subject, data.isModelDown]),
      [
        ['a', false],
        ['c', true],
      ],
    );
  });

  it('reports a refused credential immediately and once', () => {
    const watch = new NodeWatch('node_1');
    const status = { routes: [], credentials: [credential(true)], catalog };
    const due = watch.findDue(status, at(0));
    assert.deepEqual(due[0]!.data, {
      provider: 'acme',
      credential: 'apiKey',
      status: 401,
      since: '1970-01-01T00:00:00.000Z',
    });
    watch.markStored(due);
    assert.deepEqual(watch.findDue(status, at(10)), []);
    assert.deepEqual(watch.findDue({ ...status, credentials: [credential(false)] }, at(20)), []);
    assert.equal(watch.findDue(status, at(30)).length, 1);
  });

  it('reports a revision that the node cannot use once, and when the node applies the catalog again', () => {
    const watch = new NodeWatch('node_1');
    const findDue = (inForce: number, failed: number | null, seconds: number): string[] => {
      const problem = failed === null ? null : { number: failed, message: 'no key' };
      const due = watch.findDue({ routes: [], credentials: [], catalog: { inForce, failed: problem } }, at(seconds));
      watch.markStored(due);
      return due.map(({ kind, data }) => `${kind} ${data.revision}`);
    };
    assert.deepEqual(
      [findDue(1, null, 0), findDue(1, 2, 10), findDue(1, 2, 20), findDue(1, 3, 30), findDue(3, null, 40)],
      [[], ['catalog.failed 2'], [], ['catalog.failed 3'], ['catalog.recovered 3']],
    );
    assert.deepEqual([findDue(3, null, 50), findDue(3, 3, 60)], [[], ['catalog.failed 3']]);
  });

  it('repeats the notice that the catalog is applied again until it is stored', () => {
    const watch = new NodeWatch('node_1');
    const unusable = { inForce: 1, failed: { number: 2, message: 'no key' } };
    watch.markStored(watch.findDue({ ...routes(), catalog: unusable }, at(0)));
    for (const seconds of [10, 20]) {
      const [due] = watch.findDue(routes(), at(seconds));
      assert.equal(due?.kind, 'catalog.recovered');
    }
  });

  it('forgets what is no longer configured', () => {
    const watch = new NodeWatch('node_1');
    watch.findDue(routes(route('a', false)), at(0));
    watch.findDue(routes(), at(30));
    assert.deepEqual(watch.findDue(routes(route('a', false)), at(60)), []);
  });
});
