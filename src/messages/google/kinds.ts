/** What becomes of each field of a part of Google's Gemini. */

import type { Kinds } from '../kinds.ts'
import { boolean, object, open, string } from '../shape.ts'

/** What any part may have beside its data; what the model has signed stands apart. */
const BESIDE = {
  thought: boolean,
  mediaProcessing: string,
  mediaResolution: object,
  partMetadata: object,
  speechMetadata: object,
  videoMetadata: object,
} as const

const MORE = { ...BESIDE, thoughtSignature: string } as const

const SIGNED = { side: 'assistant', in: 'part', signed: 'thoughtSignature', more: MORE } as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: MORE },
  functionCall: { in: 'standard', side: 'assistant', more: { ...MORE, functionCall: object } },
  functionResponse: { in: 'standard', side: 'user' },
  inlineData: {
    ...SIGNED,
    side: 'both',
    needs: { inlineData: open({ mimeType: string, data: string }) },
  },
  fileData: {
    ...SIGNED,
    side: 'both',
    needs: { fileData: open({ mimeType: string, fileUri: string }) },
  },
  executableCode: {
    ...SIGNED,
    needs: { executableCode: open({ language: string, code: string }) },
  },
  codeExecutionResult: { ...SIGNED, needs: { codeExecutionResult: open({ outcome: string }) } },
  toolCall: { ...SIGNED, needs: { toolCall: object } },
  toolResponse: { ...SIGNED, needs: { toolResponse: object } },
  /** The provider makes it, and takes none. */
  audioTranscription: { in: 'words', side: 'assistant' },
  thought: { in: 'standard', side: 'assistant' },
  thoughtSignature: { in: 'standard', side: 'assistant' },
  mediaProcessing: { in: 'standard', side: 'both' },
  mediaResolution: { in: 'standard', side: 'both' },
  partMetadata: { in: 'standard', side: 'both' },
  speechMetadata: { in: 'standard', side: 'both' },
  videoMetadata: { in: 'standard', side: 'both' },
} as const satisfies Kinds

/** The fields of which a part has exactly one. */
export const DATA: readonly string[] = /* @__PURE__ */ Object.keys(KINDS).filter(
  (field) => !Object.hasOwn(MORE, field),
)
