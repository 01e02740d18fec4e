/** Names of a configuration file as the library has them: `max_body_bytes` becomes `maxBodyBytes`. */

type CamelName<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelName<Rest>>}`
  : Name

/** `max_body_bytes` is `maxBodyBytes`. */
export type Camel<T> = {
  readonly [Name in keyof T as CamelName<Name>]: T[Name]
}

/** The names of the object itself; values stay as they are. */
export const camelCased = <T extends object>(value: T): Camel<T> =>
  Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      inner,
    ]),
  ) as Camel<T>
