/** What becomes of each field of a part of Google's Gemini. */

import type { Kinds } from '../kinds.ts'

/** What any part may have beside its data; what the model has signed stands apart. */
const BESIDE = {
  thought: 'flag',
  mediaProcessing: 'text',
  mediaResolution: 'object',
  partMetadata: 'object',
  speechMetadata: 'object',
  videoMetadata: 'object',
} as const

const MORE = { ...BESIDE, thoughtSignature: 'text' } as const

const SIGNED = { side: 'assistant', in: 'part', signed: 'thoughtSignature', more: MORE } as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: MORE },
  functionCall: { in: 'standard', side: 'assistant', more: { ...MORE, functionCall: 'object' } },
  functionResponse: { in: 'standard', side: 'user' },
  inlineData: {
    ...SIGNED,
    side: 'both',
    needs: { 'inlineData.mimeType': 'text', 'inlineData.data': 'text' },
    says: ['mimeType', 'displayName'],
  },
  fileData: {
    ...SIGNED,
    side: 'both',
    needs: { 'fileData.mimeType': 'text', 'fileData.fileUri': 'text' },
    says: ['mimeType', 'fileUri'],
  },
  executableCode: {
    ...SIGNED,
    needs: { 'executableCode.language': 'text', 'executableCode.code': 'text' },
    says: ['code'],
  },
  codeExecutionResult: { ...SIGNED, needs: { 'codeExecutionResult.outcome': 'text' }, says: ['output'] },
  toolCall: { ...SIGNED, needs: { toolCall: 'object' }, says: ['toolType', 'args'] },
  toolResponse: { ...SIGNED, needs: { toolResponse: 'object' }, says: ['toolType', 'response'] },
  /** The provider makes it, and takes none. */
  audioTranscription: { in: 'words', side: 'assistant', says: ['text'] },
  thought: { in: 'standard', side: 'assistant' },
  thoughtSignature: { in: 'standard', side: 'assistant' },
  mediaProcessing: { in: 'standard', side: 'both' },
  mediaResolution: { in: 'standard', side: 'both' },
  partMetadata: { in: 'standard', side: 'both' },
  speechMetadata: { in: 'standard', side: 'both' },
  videoMetadata: { in: 'standard', side: 'both' },
} as const satisfies Kinds

/** The fields of which a part has exactly one. */
export const DATA: readonly string[] = Object.keys(KINDS).filter((field) => !Object.hasOwn(MORE, field))
