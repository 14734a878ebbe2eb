import type { Attack } from '../attack.ts';

const AT_A_TIME = 16;
const NAME_CHARS = 900_000;

export const longNames: Attack = {
  name: 'long-names',
  sends: `changes with an unknown member of ${NAME_CHARS} characters, or 20,000 values, ${AT_A_TIME} at a time, with a key of the account API`,
  seconds: 2,
  callers: { owner: { scopes: ['calls', 'account'] } },
  async run(scene) {
    const key = scene.key('owner');
    const bodies = [
      `{"${'n'.repeat(NAME_CHARS)}":1}`,
      `{"name":[${'{},'.repeat(19_000)}{}]}`,
      `{"name":${'['.repeat(NAME_CHARS)}`,
    ];
    await scene.repeat(AT_A_TIME, async (round) => {
      const { text } = await scene.send({ path: '/account/v1/keys', key, body: bodies[round % bodies.length]! });
      if (text.length > 2_000) scene.problem(`a response of ${text.length} characters`);
    });
    scene.expectStatuses(400, 429, 503);
  },
};
