import { ATTACKS } from '../all.ts';
import type { Attack } from '../attack.ts';
import { responseParent } from './rpc.ts';
import { type AttackReport, Scene, type SceneOrder } from './scene.ts';

/** Runs attacks in another process, so that they slow down neither the innocent caller nor the runner. */
responseParent({
  prepare(names: readonly string[]) {
    for (const name of names) attackOf(name).prepare?.();
  },
  async setUp(order: SceneOrder): Promise<void> {
    const attack = attackOf(order.attack);
    await attack.setUp?.(new Scene(attack, order));
  },
  async run(order: SceneOrder): Promise<AttackReport> {
    const attack = attackOf(order.attack);
    const scene = new Scene(attack, order);
    try {
      await attack.run(scene);
    } catch (error) {
      scene.problem(error instanceof Error ? `it broke off: ${error.message}` : String(error));
    }
    return scene.report();
  },
});

function attackOf(name: string): Attack {
  return ATTACKS.find((attack) => attack.name === name)!;
}
