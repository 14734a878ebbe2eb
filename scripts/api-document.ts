import type { ApiDocument } from './endpoint-types.ts';
import { LISTENING, withGateway } from './started-demo.ts';

/** Starts a demo gateway and reads its /openapi.json. */
export function readApiDocument(): Promise<ApiDocument> {
  return withGateway({ FAREGATE_DEMO_DATA: 'none', LOG_LEVEL: 'error' }, async (printed) => {
    const [, url] = await printed(LISTENING);
    return (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument;
  });
}
