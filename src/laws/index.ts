/** Entry point `colloquy/laws`: the text of each law, and `checkLog`, which checks any server's log. */

export { checkLog, type CheckOptions } from './check-log.ts'
export type { LogItem, LawViolation } from './load.ts'
export type { RequestWriter } from './requests.ts'
export { LAWS, sentenceOf } from './sentences.ts'
export type { Grammar } from '../messages/grammar.ts'
export { GRAMMARS } from '../messages/grammars.ts'
