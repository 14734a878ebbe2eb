import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stringify } from 'yaml';
import { parseConfig } from './load.ts';
import { NOT_SHOWN, showConfig } from './shown.ts';
import { configTemplate } from './template.ts';

const CANARY = 'canary-7f3a';

const text = `
server: { port: 0, publicUrl: 'https://gate.example', metrics: '[::1]:9464', sseKeepAlive: 15s, trustedProxies: [127.0.0.1, 10.0.0.0/8], cors: { origins: [https://app.example] } }
database: { url: "postgres://user:${CANARY}-1@db.example:5432/name?sslmode=require&password=${CANARY}-2&${CANARY}-3" }
billing: { dailySpendCapYuan: "0.30" }
providers:
  acme:
    protocol: chat
    baseUrl: https://api.acme.example/v1
    apiKeys: [${CANARY}-4, ${CANARY}-5, { value: ${CANARY}-9, limits: { requestsPerMinute: 60 } }]
    headers: { X-Title: ${CANARY}-6, Authorization: ${CANARY}-7 }
    proxy: http://someone:${CANARY}-8@proxy.example:3128
    auth: x-api-key
    timeouts: { connect: 1500ms, firstByte: 2m, idle: 90s }
models:
  large:
    aliases: [large-latest]
    operations: [chat, images.generate]
    price:
      input: "4"
      output: "0.000000001"
      perImage: { low: "0.1", high: { 1024x1024: "0.5", default: "0.7" }, default: "1" }
      serviceTiers: { flex: "0.5" }
      timeOfDay:
        id: day
        timezone: Asia/Shanghai
        peak: { hours: ["09:00-21:00", "22:30-24:00"], input: "8", output: "2", perImage: "1" }
        offPeak: { input: "2", output: "1", perImage: "1" }
    routes: [{ provider: acme, model: m, weight: 3 }]
`;

describe('showConfig', () => {
  const config = parseConfig(text, 'x.yaml', {});

  it('shows no secret', () => {
    const shown = JSON.stringify(showConfig(config));
    assert.doesNotMatch(shown, new RegExp(CANARY));
    assert.match(shown, /"url":"postgres:\/\/db\.example:5432\/name\?sslmode=require&\(not shown\)"/);
    assert.match(shown, /"proxy":"http:\/\/proxy\.example:3128\/"/);
    assert.match(
      shown,
      /"apiKeys":\["\(not shown\)","\(not shown\)",{"value":"\(not shown\)","limits":{"requestsPerMinute":60}}\],.*"headers":\{"X-Title":"\(not shown\)"/,
    );
  });

  for (const url of [
    `postgres://user:${CANARY}@/name?host=/run/postgresql`,
    `postgres://user:${CANARY}%40x@db.example/name#${CANARY}`,
    `postgres://db.example/name?user=a@b&password=${CANARY}@c`,
    `postgres://db.example/name?options=-c%20x=${CANARY}`,
  ]) {
    it(`shows no secret of the address ${url.replaceAll(CANARY, '…')}`, () => {
      const withUrl = { ...config, database: { ...config.database, url } };
      assert.doesNotMatch(JSON.stringify(showConfig(withUrl)), new RegExp(CANARY));
    });
  }

  const roundTrip = (written: string, environment: Record<string, string>, secret: string): void => {
    const loaded = parseConfig(written, 'x.yaml', environment);
    const shown = stringify(showConfig(loaded)).replaceAll(NOT_SHOWN, secret);
    assert.deepEqual(parseConfig(shown, 'x.yaml', {}), loaded);
  };

  it('loads to the same configuration, except for hidden values', () => {
    const plain = text
      .replace(/^database:.*$/m, '')
      .replace(/^ {4}proxy:.*$/m, '')
      .replace(/canary-7f3a-\d/g, 'some-key');
    roundTrip(plain, {}, 'some-key');
  });

  it('loads the template to the same configuration', () => {
    const variables = [...configTemplate.matchAll(/\$\{([A-Z_]+)\}/g)].map((match) => [match[1]!, 'some-key']);
    roundTrip(configTemplate, Object.fromEntries(variables), 'some-key');
  });
});
