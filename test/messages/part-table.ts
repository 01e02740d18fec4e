/** What becomes of the kinds of content of a provider's package: the form of its tables, and what their samples are made of. */

/**
 * What becomes of a kind. `standard`: a text, images, or a result, which events have fields for. `reply`: only the
 * model says it. `item`: it is no content, but an item beside messages that says how to reply, and named where
 * a message holds it. Else samples that hold a mark of eight letters: what its own grammar writes as it stands, or with
 * `named` by its name; with `settles` as it stands behind what it settles, of which the mark is the id, else by name.
 */
export type Place<Part> =
  | 'standard'
  | 'reply'
  | 'item'
  | { readonly sent: Samples<Part> }
  | { readonly named: Samples<Part> }
  | { readonly settles: Samples<Part> }

export type Samples<Part> = readonly ((mark: string) => Part)[]

export type Table<Union> = {
  readonly [Kind in KindOf<Union>]: Place<Extract<Union, { readonly type?: Kind }>>
}

type KindOf<Union> = Union extends { readonly type?: infer Kind } ? Extract<Kind, string> : never

export const pdf = (mark: string): string => `JVBERi0x${mark}`
export const png = (mark: string): string => `iVBORw0KGgoA${mark}`
export const url = (mark: string): string => `https://example.com/${mark}`

/** A small image. */
export const PNG = 'data:image/png;base64,iVBORw0KGgo='
