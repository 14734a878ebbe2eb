import type { Query } from './query.ts';
import { publicModelsResponse } from './schemas.ts';

const CACHE_SECONDS = 60;

/** The public catalog (contract 2.5, 4.9): free, without an API key, cached for at most a minute. */
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
