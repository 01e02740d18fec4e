/** `colloquy/testing`: arbitraries for fast-check, an optional peer, of events, messages and whole logs. */

export { anyEvent, anyTimestamp, eventId } from './event.ts'
export { anyContent, imageContent, plainContent, textContent } from './content.ts'
export { openPart } from './open-part.ts'
export { anyAction, anyObservation, toolArguments, toolCall } from './call.ts'
export { anyMessage } from './message.ts'
export { anyText } from './text.ts'
export { anyThinking, reasoningItem, signedThinking } from './thinking.ts'
export { hostileLog } from './hostile-log.ts'
export { jsonObject, jsonValue } from './json.ts'
export type { LegalLength } from './legal-commands.ts'
export { legalLog } from './legal-log.ts'
export { type ConformanceCase, type ConformanceOptions, storeConformance } from './conformance/kit.ts'
