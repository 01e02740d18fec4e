/** Entry `colloquy/inspector`: short descriptions of events, and the page that shows a conversation. */

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
export {
  inPage,
  type LogDocument,
  type LogIssue,
  logBlocks,
  type LogHead,
  type LogTitle,
  findingOptions,
  inspectorPage,
  type PageSource,
  shownFact,
  titleOf,
} from './log-document.ts'
export { startedBy } from './model/replayed.ts'
