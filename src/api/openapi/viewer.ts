import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pagePolicy, type ServedFile } from '../served-file.ts';

type DocsFile = Omit<ServedFile, 'cacheControl'> & { readonly path: string };

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Faregate: the API</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

/** `validatorUrl: null`, because the viewer would otherwise send the document to a public service. */
const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
});
`;

export const docsFiles: readonly DocsFile[] = [
  text('/docs', 'text/html; charset=utf-8', PAGE, {
    'content-security-policy': pagePolicy(),
    'referrer-policy': 'no-referrer',
  }),
  text('/docs/start.js', 'text/javascript; charset=utf-8', START),
  packaged('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
  packaged('swagger-ui.css', 'text/css; charset=utf-8'),
  packaged('favicon-32x32.png', 'image/png'),
];

function text(path: string, contentType: string, content: string, headers: Record<string, string> = {}): DocsFile {
  return { path, contentType, headers, read: () => Buffer.from(content) };
}

function packaged(name: string, contentType: string): DocsFile {
  const read = () => readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));
  return { path: `/docs/${name}`, contentType, headers: {}, read };
}
