/**
 * How a request represents a kind of content.
 * - `standard`: events have fields for it.
 * - `reply`: only the model produces it.
 * - `item`: not content, but an item next to messages. In a message, a text names it.
 *
 * Otherwise samples, each with a mark of eight letters.
 * - `sent`: its own grammar sends it unchanged.
 * - `named`: sent in another form, or a text names it.
 * - `settles`: sent unchanged after the item whose id is the mark; without this item, a text names it.
 */
export type Representation<Part> =
  | 'standard'
  | 'reply'
  | 'item'
  | { readonly sent: Samples<Part> }
  | { readonly named: Samples<Part> }
  | { readonly settles: Samples<Part> }

export type Samples<Part> = readonly ((mark: string) => Part)[]

export type Table<Union> = {
  readonly [Kind in KindOf<Union>]: Representation<Extract<Union, { readonly type?: Kind }>>
}

type KindOf<Union> = Union extends { readonly type?: infer Kind } ? Extract<Kind, string> : never

export const pdf = (mark: string): string => `JVBERi0x${mark}`
export const png = (mark: string): string => `iVBORw0KGgoA${mark}`
export const url = (mark: string): string => `https://example.com/${mark}`

export const PNG = 'data:image/png;base64,iVBORw0KGgo='
