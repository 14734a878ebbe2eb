import type { Attack } from '../attack.ts';

const SOCKETS = 300;

export const silentSockets: Attack = {
  name: 'silent-sockets',
  sends: `${SOCKETS} connections from one address that say nothing, at a gateway that takes 256`,
  seconds: 3,
  callers: {},
  async run(scene) {
    const sockets = Array.from({ length: SOCKETS }, () => {
      const socket = scene.http.socket('127.0.0.3');
      socket.resume();
      return socket;
    });
    await scene.sitStill();
    const open = sockets.filter((socket) => socket.writable && !socket.connecting).length;
    scene.note(`${open} of them are open`);
    for (const socket of sockets) socket.destroy();
  },
};
