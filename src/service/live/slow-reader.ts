/** The end of a reader who does not read: its stream is dropped, and it may resume where it was. */

/** The peer took nothing for as long as it was waited for. */
export class SlowReader extends Error {
  override readonly name = 'SlowReader'
}
