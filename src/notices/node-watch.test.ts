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
const routes = (...all: NodeStatus['routes']): NodeStatus => ({ routes: all, credentials: [] });
const at = (seconds: number) => ({ nowMs: seconds * 1_000, routeDownAfterMs: 60_000 });

describe('the watch of a node', () => {
  it('reports a route that stays down once, until it was up again', () => {
    const watch = new NodeWatch('node_1');
    const look = (isUp: boolean, seconds: number): number => {
      const due = watch.look(routes(route('a', isUp)), at(seconds));
      watch.said(due);
      return due.length;
    };
    assert.deepEqual(
      [look(true, 0), look(false, 10), look(false, 69), look(false, 70), look(false, 500), look(true, 510)],
      [0, 0, 0, 1, 0, 0],
    );
    assert.deepEqual(
      [look(false, 520), look(true, 560), look(false, 570), look(false, 629), look(false, 630)],
      [0, 0, 0, 0, 1],
    );
  });

  it('repeats notices that could not be stored', () => {
    const watch = new NodeWatch('node_1');
    watch.look(routes(route('a', false)), at(0));
    const due = watch.look(routes(route('a', false)), at(60));
    assert.equal(due.length, 1);
    assert.deepEqual(watch.look(routes(route('a', false)), at(70)), due);
  });

  it('reports whether the model has another route', () => {
    const watch = new NodeWatch('node_1');
    const down = [route('a', false), route('b', true), route('c', false, 'other')];
    watch.look(routes(...down), at(0));
    const due = watch.look(routes(...down), at(60));
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
    const status = { routes: [], credentials: [credential(true)] };
    const due = watch.look(status, at(0));
    assert.deepEqual(due[0]!.data, {
      provider: 'acme',
      credential: 'apiKey',
      status: 401,
      since: '1970-01-01T00:00:00.000Z',
    });
    watch.said(due);
    assert.deepEqual(watch.look(status, at(10)), []);
    assert.deepEqual(watch.look({ routes: [], credentials: [credential(false)] }, at(20)), []);
    assert.equal(watch.look(status, at(30)).length, 1);
  });

  it('forgets what is no longer configured', () => {
    const watch = new NodeWatch('node_1');
    watch.look(routes(route('a', false)), at(0));
    watch.look(routes(), at(30));
    assert.deepEqual(watch.look(routes(route('a', false)), at(60)), []);
  });
});
