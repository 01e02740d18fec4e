import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type FakeProvider, fakeProvider } from '../provider/provider.ts'
import type { Model } from '../../messages/model.ts'

/** A fake provider that listens on a port. */
export interface ProviderServer extends FakeProvider {
  readonly url: string
  readonly close: () => Promise<void>
}

/**
 * Starts a `fakeProvider` on a free loopback port, for other processes and for clients without a `fetch`
 * option.
 * @param model as for `fakeProvider`
 * @example
 * const provider = await providerServer(playTurns([{ says: ['Hello!'] }]))
 * const response = await fetch(`${provider.url}/v1/messages`, { method: 'POST', body: '{}' })
 * response.status // 400
 * await provider.close()
 */
export async function providerServer(model?: Model): Promise<ProviderServer> {
  const provider = fakeProvider(model)
  const server = createServer((incoming, outgoing) => {
    // If the provider simulates a lost connection, the real connection must break too.
    pass(provider, incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return Object.defineProperties({} as ProviderServer, {
    ...Object.getOwnPropertyDescriptors(provider),
    url: { value: url, enumerable: true },
    close: {
      value: async () => {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    },
  })
}

async function pass(
  provider: FakeProvider,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  const response = await provider.fetch(`http://provider${incoming.url ?? '/'}`, {
    method: 'POST',
    body: await buffer(incoming),
    signal: gone.signal,
  })
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.flushHeaders()
  if (response.body !== null) for await (const piece of response.body) outgoing.write(piece)
  outgoing.end()
}
