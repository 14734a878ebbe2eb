import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/support/free-port.ts';
import { passedOn } from '../targets.ts';
import { startPeer } from './child.ts';
import type { FoundPeer } from './peer.ts';

/** nginx as a plain proxy, if it is installed: one worker that forwards bytes without inspecting them. */
export function findNginx(): FoundPeer {
  const { status, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' });
  if (status !== 0) return { name: 'nginx', missing: 'it is not installed' };
  const name = stderr.trim().split(' ').at(-1)!.replace('/', ' ');
  return {
    name,
    serves: (kind) => kind !== 'estimate',
    async start(stage, scenario) {
      const directory = join(stage.directory, stage.uniqueName());
      mkdirSync(directory);
      const port = await freePort();
      const file = join(directory, 'nginx.conf');
      writeFileSync(file, configText(directory, port, new URL(stage.providerUrl).host));
      const call = passedOn(scenario, `http://127.0.0.1:${port}`);
      return startPeer(name, ['nginx', '-p', directory, '-c', file], {}, call);
    },
  };
}

function configText(directory: string, port: number, upstream: string): string {
  return `
daemon off;
master_process off;
worker_processes 1;
error_log stderr crit;
pid ${join(directory, 'nginx.pid')};
events { worker_connections 16384; }
http {
  access_log off;
  client_max_body_size 64m;
  client_body_buffer_size 2m;
  client_body_temp_path ${join(directory, 'body')};
  proxy_temp_path ${join(directory, 'proxy')};
  fastcgi_temp_path ${join(directory, 'fastcgi')};
  uwsgi_temp_path ${join(directory, 'uwsgi')};
  scgi_temp_path ${join(directory, 'scgi')};
  keepalive_requests 100000000;
  upstream provider {
    server ${upstream};
    keepalive 4096;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }
  }
}
`;
}
