package org.kernbench.torch;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks the methods with which the host looks at the contents of tensors. Each first completes the
 * device work that could still change them (the host-read barrier). The set is closed: {@code
 * HostReadTest} lists it.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface HostRead {}
