/** The bytes of a reply on their way: in pieces, slowly, cut off, without an end, or until the client goes. */

import { turn } from '../turn.ts'

export interface BytePlan {
  readonly texts: readonly string[]
  readonly cut: number | null
  /** The length of a piece in bytes; null for a piece for each text. */
  readonly pieces: number | null
  readonly slow: number
  readonly endless: boolean
}

/** The error of a client whose connection is lost. */
export const lost = (): Error => new TypeError('terminated: the connection was lost')

/** Never a response: it ends with the client's own signal. */
export function never(signal: AbortSignal, onLeft: () => void): Promise<never> {
  return new Promise((_, reject) => {
    const leave = (): void => {
      onLeft()
      reject(signal.reason as Error)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
  })
}

function piecesOf({ texts, cut, pieces }: BytePlan): readonly Uint8Array[] {
  const encoder = new TextEncoder()
  if (cut === null && pieces === null) return texts.map((text) => encoder.encode(text))
  const bytes = encoder.encode(texts.join('')).subarray(0, cut ?? undefined)
  const length = Math.max(1, pieces ?? bytes.length)
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  )
}

export function sendBytes(
  plan: BytePlan,
  signal: AbortSignal,
  onLeft: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const remaining = [...piecesOf(plan)] as Uint8Array<ArrayBuffer>[]
  let isOver = false
  const leave = (): void => {
    if (isOver) return
    isOver = true
    onLeft()
  }
  return new ReadableStream({
    start(controller) {
      const abort = (): void => {
        if (isOver) return
        leave()
        controller.error(signal.reason)
      }
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
    },
    async pull(controller) {
      for (let n = 0; n < plan.slow; n += 1) await turn()
      if (isOver) return
      const piece = remaining.shift()
      if (piece !== undefined) return controller.enqueue(piece)
      if (plan.endless) return new Promise(() => undefined)
      isOver = true
      if (plan.cut === null) controller.close()
      else controller.error(lost())
    },
    cancel: leave,
  })
}
