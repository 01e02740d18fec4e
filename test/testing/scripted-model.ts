import { providerServer } from '../../src/testing/node/provider-server.ts'
import { messagesIn, playScripts, type SentMessage } from '../../src/testing/server/index.ts'

/** A model on a port. Plays the scripts of the server conformance kit, and records requests. */
export interface ScriptedModel {
  readonly url: string
  readonly requests: () => readonly (readonly SentMessage[])[]
  /** Rules that refused requests broke. */
  readonly refused: readonly string[]
  readonly close: () => Promise<void>
}

export async function startModel(): Promise<ScriptedModel> {
  const provider = await providerServer(playScripts)
  return {
    url: provider.url,
    requests: () => provider.requests.map(({ body }) => messagesIn(body)),
    refused: provider.refused,
    close: provider.close,
  }
}
