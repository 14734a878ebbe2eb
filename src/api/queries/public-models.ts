import type { Query } from './query.ts';

const CACHE_SECONDS = 60;

/** The public model catalog (contract 2.5, 4.9): no API key, no charge, cached for a minute at most. */
export const publicModels: Query = {
  name: 'models.public',
  async answer(_request, sources) {
    return { body: sources.publicCatalog(), headers: { 'cache-control': `public, max-age=${CACHE_SECONDS}` } };
  },
};
