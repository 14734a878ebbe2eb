import type { Query } from './query.ts';
import { publicModelsResponse } from './schemas.ts';

const CACHE_SECONDS = 60;

/** The public model catalog (contract 2.5, 4.9). It is free, requires no API key, and is cached for at most a minute. */
export const publicModels: Query = {
  name: 'models.public',
  document: {
    summary: 'List the models with their prices',
    tag: 'Models',
    response: publicModelsResponse,
    query: null,
  },
  async response(_request, sources) {
    return { body: sources.publicCatalog(), headers: { 'cache-control': `public, max-age=${CACHE_SECONDS}` } };
  },
};
