/** What the shapes of the providers' parts have in common, as zod schemas. */

import * as z from 'zod'
import { isAddress, isBase64 } from './files.ts'
import { readImage } from './images.ts'
import { isWellFormed, isWhitespace } from './text.ts'

/** Text that has bytes. */
export const text = z.string().refine(isWellFormed)

/** Text that says something, too. */
export const words = text.refine((value) => !isWhitespace(value))

export const base64 = z.string().refine(isBase64)

/** Bytes that are a PDF. */
export const pdf = base64.refine((data) => data.startsWith('JVBERi0'))

/** A file as a data URL. */
export const dataUrl = z.string().refine((url) => {
  const match = /^data:[\w.+-]+\/[\w.+-]+;base64,/.exec(url)
  return match !== null && isBase64(url.slice(match[0].length))
})

export const secureUrl = z.string().refine((url) => isAddress(url, true))

export const webUrl = z.string().refine((url) => isAddress(url, false))

/** An image that every provider reads, as a URL. */
export const imageUrl = z.string().refine((url) => {
  const read = readImage(url)
  return (
    read !== null &&
    (read.from === 'web' ? read.url === url : url === `data:${read.mediaType};base64,${read.data}`)
  )
})
