/** Entry point `colloquy/inspector`: short descriptions of events, and the page that shows a conversation. */

export {
  contentText,
  type Described,
  describeEntry,
  describeEvent,
  glimpseIssue,
  reasonOf,
  ROLE_WIDTH,
  STATUS_TONES,
  type Tone,
} from './describe.ts'
export { counted } from '../explain/explanation.ts'
export { glimpse, hideSecrets, onOneLine, safe } from './glimpse.ts'
export type { LogDocument, LogHead, LogIssue, LogTitle, PageSource } from './log-document.ts'
export { findingOptions, inPage, inspectorPage, logBlocks, shownFact, titleOf } from './log-document.ts'
export { startedBy } from './model/replayed.ts'
