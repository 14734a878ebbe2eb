import { embeddingList, type ImageEvents, imageEvent, imagesResult, imageUsage } from '../support/endpoints.ts';
import {
  chatResponse,
  completionResponse,
  json,
  messagesResponse,
  type ReceivedRequest,
  type Respond,
  type ScriptedProvider,
  sse,
  startProvider,
} from '../support/provider.ts';
import { compactionItem, compactionResult, responsesResponse } from '../support/responses.ts';

const usage = imageUsage({ text: 7, image: 0 }, 13);

const RESPONSES: Readonly<Record<string, Respond>> = {
  '/v1/chat/completions': chatResponse(),
  '/v1/completions': completionResponse(),
  '/v1/responses': responsesResponse(),
  '/v1/responses/compact': json(200, compactionResult({ output: [compactionItem] })),
  '/v1/embeddings': json(200, embeddingList({ prompt_tokens: 9, total_tokens: 9 })),
  '/v1/images/generations': imagesResponse('image_generation'),
  '/v1/images/edits': imagesResponse('image_edit'),
  '/v1/messages': messagesResponse(),
};

/** A provider with a valid response for every address that the suites reach. */
export async function startVendor(): Promise<ScriptedProvider> {
  const provider = await startProvider();
  provider.respond = (request, response) => {
    const respond =
      RESPONSES[new URL(request.path, provider.url).pathname] ?? json(404, { error: { message: 'Not scripted.' } });
    return respond(request, response);
  };
  return provider;
}

function imagesResponse(kind: ImageEvents): Respond {
  const stream = sse([imageEvent(kind, 'completed', { usage })]);
  const whole = json(200, imagesResult(1, { usage }));
  return (request, response) => (isStream(request) ? stream : whole)(request, response);
}

/** Reads `stream` from a JSON body, or from the form of an edit. */
function isStream({ headers, body }: ReceivedRequest): boolean {
  const text = body.toString('latin1');
  if (headers['content-type']?.startsWith('application/json'))
    return (JSON.parse(text) as { stream?: boolean }).stream === true;
  return /name="stream"\r\n\r\ntrue\r\n/.test(text);
}
