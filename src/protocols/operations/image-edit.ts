import { GatewayError } from '../../errors/gateway-error.ts';
import { multipartBoundary, multipartContentType } from '../../lib/multipart.ts';
import { chatProtocol } from '../chat/protocol.ts';
import { checkEdit, DEFAULT_EDIT_MODEL, readEdit } from '../image-rules/edit.ts';
import { familyOf } from '../image-rules/families.ts';
import { imagesResponse } from '../images/response.ts';
import { readImagesStream } from '../images/stream.ts';
import { byImages, byTokens } from '../metering/charge-options.ts';
import { estimateTokens } from '../metering/estimate.ts';
import { typedStreamError } from '../responses/errors.ts';
import { EditFormReader, type FormModelPlace } from './edit-form.ts';
import { recordedEndUser } from './end-user.ts';
import { IMAGE_OUTPUT_TOKENS } from './image-generation.ts';
import {
  type CallInput,
  plainDemand,
  type StoredBody,
  type StoredUpload,
  type UploadOperation,
  type UploadReader,
} from './operation.ts';

/** Maximum input tokens of an image at high fidelity, for the reservation. */
const IMAGE_INPUT_TOKENS = 8_000;

export const imageEdit: UploadOperation<'images.edit'> = {
  name: 'images.edit',
  protocol: chatProtocol,
  upstreamPath: '/images/edits',
  streamError: typedStreamError,
  charge: [byTokens(['input', 'output'], ['input', 'imageOutput']), byImages],
  catalogEntry: { interfaceId: 'IMAGES', operationId: 'IMAGES_EDIT' },
  countedAs: null,
  isAlwaysAwaited: true,
  receive(contentType, digest): UploadReader {
    const boundary = multipartBoundary(contentType);
    if (boundary === null) {
      throw new GatewayError('unsupportedMediaType', {
        message: 'The Content-Type must be multipart/form-data with a boundary.',
      });
    }
    const reader = new EditFormReader(boundary, digest);
    return {
      push: (chunk) => reader.push(chunk),
      finish: (stored) => toInput(reader, stored, multipartContentType(boundary)),
    };
  },
};

function toInput(reader: EditFormReader, stored: StoredUpload, contentType: string): CallInput {
  const { form, modelPlace, listedCount } = reader.finish();
  const edit = readEdit(form);
  const model = edit.model ?? DEFAULT_EDIT_MODEL;
  const { quality, size, n } = edit;
  const choices = Math.max(n ?? 1, listedCount);
  return {
    model,
    continuationKeys: [],
    signedKeys: () => [],
    signedMember: null,
    references: [],
    unlisted: [],
    isStream: edit.stream ?? false,
    sizeBytes: stored.sizeBytes,
    inputTokensEstimate:
      estimateTokens(Buffer.byteLength(edit.prompt)) +
      (form.images.length + (form.mask === null ? 0 : 1)) * IMAGE_INPUT_TOKENS,
    demand: { ...plainDemand, outputTokensDefault: IMAGE_OUTPUT_TOKENS },
    choices,
    contentType,
    clientBody: null,
    session: () => null,
    endUser: () => recordedEndUser(edit.user),
    checkFor: (modelId) => checkEdit(edit, form, familyOf(modelId)),
    toProvider: (providerModel) => withModel(stored, edit.model === providerModel ? null : modelPlace, providerModel),
    response: imagesResponse({ quality, size }),
    readStream: (basis) => readImagesStream({ count: choices, quality, size }, basis),
  };
}

/** Replaces the client's name of the model at `place`; with `null`, nothing is replaced. */
function withModel(stored: StoredUpload, place: FormModelPlace | null, providerModel: string): StoredBody {
  if (place === null) return { sizeBytes: stored.sizeBytes, read: () => stored.read() };
  const named = Buffer.from(`${place.before}${providerModel}${place.after}`);
  return {
    sizeBytes: stored.sizeBytes - (place.end - place.start) + named.length,
    async *read() {
      yield* stored.read(0, place.start);
      yield named;
      yield* stored.read(place.end);
    },
  };
}
