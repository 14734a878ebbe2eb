/** The test suite that a vendor ships with its SDK for Python. */
export interface Suite {
  /** The name of the package and of its module. */
  readonly name: string;
  /** Exact, because a newer version has other tests, whose results need a review. */
  readonly version: string;
  /** The path of the SDK's base URL. */
  readonly basePath: string;
  /** Test files for resources that the gateway serves, relative to `tests/api_resources`. */
  readonly files: readonly string[];
}

export const SUITES: readonly Suite[] = [
  {
    name: 'openai',
    version: '3.57.0',
    basePath: '/v1',
    files: [
      'chat/test_completions.py',
      'chat/completions/test_messages.py',
      'test_completions.py',
      'test_responses.py',
      'responses/test_input_items.py',
      'responses/test_input_tokens.py',
      'beta/test_responses.py',
      'beta/responses/test_input_items.py',
      'beta/responses/test_input_tokens.py',
      'test_embeddings.py',
      'test_images.py',
      'test_models.py',
    ],
  },
  {
    name: 'anthropic',
    version: '2.14.0',
    basePath: '',
    files: ['test_messages.py', 'beta/test_messages.py', 'test_models.py', 'beta/test_models.py'],
  },
];

/** Dependencies of the tests themselves. */
export const TEST_PACKAGES = [
  'pytest==9.2.0',
  'pytest-asyncio==1.5.0',
  'pytest-xdist==3.8.0',
  'aiohttp==3.14.5',
  'dirty-equals==0.11',
  'http-snapshot[httpx]==0.1.9',
  'inline-snapshot==0.36.1',
  'respx==0.23.1',
  'rich==15.0.0',
] as const;
