/** The version of this library, for clients that ask a service what it is; a test holds it to that of the package. */

export const VERSION = '0.1.0'
