import { gzipSync } from 'node:zlib';
import type { Attack } from '../attack.ts';

const AT_A_TIME = 24;
const path = '/account/v1/sessions';
let encoded: Buffer;

export const nestedSignIns: Attack = {
  name: 'nested-sign-ins',
  sends: `sign-ins of 500,000 nested lists in a kilobyte, and of 16 KB, ${AT_A_TIME} at a time, without a key`,
  seconds: 2,
  callers: {},
  prepare() {
    encoded = gzipSync('['.repeat(500_000));
  },
  async run(scene) {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    await scene.repeat(AT_A_TIME, (round) =>
      round % 2 === 0 ? scene.send({ path, headers, body: encoded }) : scene.send({ path, body: '['.repeat(16_000) }),
    );
    scene.expectStatuses(400, 415, 429);
  },
};
